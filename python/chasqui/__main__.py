from chasqui.cli import main

main()
